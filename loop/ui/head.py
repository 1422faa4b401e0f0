"""Styles and scripts of ours in a page's head, as the pages' content security policy (``pages``) lets them be.

In the place of the library's ``add_css``, which sends styles as inline scripts without a nonce.
"""

from nicegui import ui


def add_style(css: str) -> None:
    ui.add_head_html(f"<style>{css}</style>")


def add_script(source: str) -> None:
    """Have a script run as the page is loaded; ``source`` is ours, and holds nothing of anybody's."""
    ui.add_head_html(f'<script nonce="{ui.context.client.request.state.nonce}">{source}</script>')
