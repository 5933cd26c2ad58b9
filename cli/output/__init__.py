"""What commands print: tables, reports, JSON, and the files of `--output DIR`.

Text is made from data; nothing is asked, started or decided here.
"""
