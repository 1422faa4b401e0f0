"""Afterthought's memory for programs of LangChain and LangGraph."""

from afterthought_langchain.history import AfterthoughtChatMessageHistory
from afterthought_langchain.retriever import AfterthoughtRetriever
from afterthought_langchain.threads import ThreadMemory
from afterthought_langchain.tools import memory_tools

__all__ = ["AfterthoughtChatMessageHistory", "AfterthoughtRetriever", "ThreadMemory", "memory_tools"]
