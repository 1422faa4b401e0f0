"""The indexes by which old messages are found again, kept in the transaction in which a message is said."""
