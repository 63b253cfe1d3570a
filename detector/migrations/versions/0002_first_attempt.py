"""When the first attempt to send a message began: a message of unknown outcome is looked for from then on."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column. Attempts of before are taken as begun when the message was decided; threads of before hold what was told as the incident's first opening."""
    op.add_column("message", sa.Column("tried_at", sa.Float))
    op.execute("UPDATE message SET tried_at = created_at WHERE attempts > 0")
