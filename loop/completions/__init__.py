"""OpenAI's protocol with memory in front of the model: ``/v1/chat/completions`` and ``/v1/models``."""
