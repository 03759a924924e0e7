// Made by build/systemManifest.ts from what is under .ai/: do not edit.
export const systemManifest: ReadonlyMap<string, string> = new Map([
  ["directives/core/create_tool.md", "12054c36bceb76203ae9b443268e69a0cea90e56b89aa1fe0fcc5a645895a3e7"],
  ["knowledge/core/items.md", "58aa11c8ad44f401762e294b05afdc75a8cd14246e8b0f4a66de60eb13ba4b2e"],
  ["knowledge/core/signing.md", "b541a7a6d66a0c51f66e45f1cc5dc520cc13b08ac210027c7a4f35a388e364f2"],
  ["knowledge/help/directives.md", "21ab2fd0b3220b8f748f6be11b10b43657977be8543415a31837fdfd21e6532b"],
  ["knowledge/help/execute.md", "c17d3aa6d5c0f7c40094a79aa85c6065f423996702d0dd4e350110a79bd56302"],
  ["knowledge/help/knowledge.md", "be6b27105f58bc8f1a3022ae361ce54cee434a087bde71cdba0861184c1bda88"],
  ["knowledge/help/load.md", "0cbe83e0e4a7e29cf5ac63d0a7f04b261c197130c0cc1661b2fbf4ba9300d167"],
  ["knowledge/help/overview.md", "7f3aa83f563c45a6bd64b7dc211cd8723d3669af1cc3c8b73e0e8f9703f94d3d"],
  ["knowledge/help/search.md", "92596ff517da8d8a4c9afdc13931c0ecfdbae0a6231aaa858a900108316f9c7d"],
  ["knowledge/help/sign.md", "24f57587802b2d1d8bfdd292af5edee42997dbe221aef46d35b67181db8430e8"],
  ["knowledge/help/tools.md", "8b943783070b31f930aa260f9e29cdcb17f44492ca5aa50699625915115f5bb2"],
  ["knowledge/help/trust.md", "cc65354ed2cba4d499d77c0b9c7aa530457144295dea35a5f688746478c5bcac"],
  ["tools/core/output_read.yaml", "5d20d30678d23027432d4322756ab8c7595edb188a4c491e9d8598c399096d01"],
  ["tools/core/ping.yaml", "9c23b2a668824b47cfaefee7ecc673ff045c506e0e1e9f606b8cf56669c02a70"],
  ["tools/primitives/builtin.yaml", "951d3bc45ded4843a7b0912d0e5de35cb9a3f0d4721d6c8dbf7d9e6dc2a3d440"],
  ["tools/primitives/http_client.yaml", "aa3b9865749b52852c5c3bf5075ddd2ebb0c0213069783d2572819c30cc91ff1"],
  ["tools/primitives/subprocess.yaml", "c40a9be1dc21844b257f5c88a817ac20c32010f72df6ff09dee4874ba453c8d2"],
  ["tools/runtimes/bash_runtime.yaml", "1fc19fe30d9a2357a217531be4d15326e699b67fe1bd51b553fbd3dd794680d8"],
  ["tools/runtimes/node_runtime.yaml", "070402495a0eb904068f58496f87a4eb36f8117f73f42915e7e7642acd26e7c6"],
  ["tools/runtimes/python_runtime.yaml", "1957ec400dcaa5623bc5597d027c9377d1af523984d2a7097c71cbfb3603d030"]
])
