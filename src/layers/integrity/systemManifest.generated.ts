// Made by build/systemManifest.ts from what is under .ai/: do not edit.
export const systemManifest: ReadonlyMap<string, string> = new Map([
  ["knowledge/help/directives.md", "21ab2fd0b3220b8f748f6be11b10b43657977be8543415a31837fdfd21e6532b"],
  ["knowledge/help/execute.md", "c17d3aa6d5c0f7c40094a79aa85c6065f423996702d0dd4e350110a79bd56302"],
  ["knowledge/help/knowledge.md", "be6b27105f58bc8f1a3022ae361ce54cee434a087bde71cdba0861184c1bda88"],
  ["knowledge/help/load.md", "0cbe83e0e4a7e29cf5ac63d0a7f04b261c197130c0cc1661b2fbf4ba9300d167"],
  ["knowledge/help/overview.md", "7f3aa83f563c45a6bd64b7dc211cd8723d3669af1cc3c8b73e0e8f9703f94d3d"],
  ["knowledge/help/search.md", "92596ff517da8d8a4c9afdc13931c0ecfdbae0a6231aaa858a900108316f9c7d"],
  ["knowledge/help/sign.md", "24f57587802b2d1d8bfdd292af5edee42997dbe221aef46d35b67181db8430e8"],
  ["knowledge/help/tools.md", "8b943783070b31f930aa260f9e29cdcb17f44492ca5aa50699625915115f5bb2"],
  ["knowledge/help/trust.md", "cc65354ed2cba4d499d77c0b9c7aa530457144295dea35a5f688746478c5bcac"]
])
