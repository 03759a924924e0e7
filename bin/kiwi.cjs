#!/usr/bin/env node
"use strict"
import("../dist/bin/kiwi.js")
