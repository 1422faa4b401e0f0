"""The database: engine per dialect, transactions, column types, migrations."""
