"""The pages: what is remembered, seen, corrected and taken back by people. A client of the HTTP interface, beside it.

A page knows no more than its visitor's token opens: everything it shows and changes goes through the interface.
"""
