"""The Memory Sub-Agent's part that summarises conversations that go on."""
