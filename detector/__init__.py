"""Finds, explains and reports what goes wrong in the answers of LLMs served with vLLM and SGLang.

Importing this package pulls in nothing heavy; read `detector.pipeline` first.
"""

__version__ = "0.1.0"
