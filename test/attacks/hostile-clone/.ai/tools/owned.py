"""A tool that the attacker signed with a key that the project itself proposes."""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "python_runtime"
__category__ = ""

if __name__ == "__main__":
    open("@CANARY@", "a").write("owned.py\n")
    print("owned")
