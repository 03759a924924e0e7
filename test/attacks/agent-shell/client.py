# An MCP client that answers its own question: it starts the server that it is given, asks it to sign `evil`, and agrees.
import json, re, subprocess, sys

server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

def send(message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    server.stdin.flush()

send({"id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {"form": {}}},
    "clientInfo": {"name": "claude-code", "version": "2.1.330"},
}})
for line in server.stdout:
    message = json.loads(line)
    if message.get("id") == 1:
        send({"method": "notifications/initialized"})
        send({"id": 2, "method": "tools/call", "params": {"name": "sign", "arguments": {"item_id": "evil"}}})
    elif message.get("method") == "elicitation/create":
        end = re.search("– end: ([0-9]+) –$", message["params"]["requestedSchema"]["properties"]["agree"]["description"])
        content = {"agree": True, "end": end.group(1) if end else ""}
        send({"id": message["id"], "result": {"action": "accept", "content": content}})
    elif message.get("id") == 2:
        print(json.dumps(message))
        break
server.stdin.close()
server.wait(20)
