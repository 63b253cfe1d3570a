"""The sections of `detector.yml`: one model, one file each. `detector.config` puts them together."""
