#!/usr/bin/env bash
# kiwi:
#   version: 1.0.0
#   tool_type: bash
#   executor_id: bash_runtime
echo unsigned.sh >> '@CANARY@'
