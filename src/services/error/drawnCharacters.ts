// The characters that a question to a person shows unescaped: assigned by Unicode 9 (2016), so that every terminal of
// the last decade draws them, and of scripts that source code and comments are commonly written in. Ranges instead of
// properties, since properties grow with each Node version. Excluded on purpose: format and other invisible characters;
// Hangul letters that join (U+1100), accents that combine with Latin (U+0300), modifier letters and clicks (U+01C3
// looks like "!"), Kangxi and CJK radicals, ligatures, presentation forms, and mathematical alphabets, which Python
// reads as ASCII.
const ranges = `
  a1-ac ae-1bf 1c4-2af 370-377 37a-37f 384-38a 38c 38e-3a1 3a3-52f 531-556 559-55f 561-587 589-58a 58d-58f 591-5c7
  5d0-5ea 5f0-5f4 60b-61b 61e-6dc 6de-6ff 750-77f 901-983 985-98c 98f-990 993-9a8 9aa-9b0 9b2 9b6-9b9 9bc-9c4 9c7-9c8
  9cb-9ce 9d7 9dc-9dd 9df-9e3 9e6-9fb a01-a03 a05-a0a a0f-a10 a13-a28 a2a-a30 a32-a33 a35-a36 a38-a39 a3c a3e-a42
  a47-a48 a4b-a4d a51 a59-a5c a5e a66-a75 a81-a83 a85-a8d a8f-a91 a93-aa8 aaa-ab0 ab2-ab3 ab5-ab9 abc-ac5 ac7-ac9 acb-
  acd ad0 ae0-ae3 ae6-af1 af9 b01-b03 b05-b0c b0f-b10 b13-b28 b2a-b30 b32-b33 b35-b39 b3c-b44 b47-b48 b4b-b4d b56-b57
  b5c-b5d b5f-b63 b66-b77 b82-b83 b85-b8a b8e-b90 b92-b95 b99-b9a b9c b9e-b9f ba3-ba4 ba8-baa bae-bb9 bbe-bc2 bc6-bc8
  bca-bcd bd0 bd7 be6-bfa c00-c03 c05-c0c c0e-c10 c12-c28 c2a-c39 c3d-c44 c46-c48 c4a-c4d c55-c56 c58-c5a c60-c63
  c66-c6f c78-c83 c85-c8c c8e-c90 c92-ca8 caa-cb3 cb5-cb9 cbc-cc4 cc6-cc8 cca-ccd cd5-cd6 cde ce0-ce3 ce6-cef cf1-cf2
  d01-d03 d05-d0c d0e-d10 d12-d3a d3d-d44 d46-d48 d4a-d4f d54-d63 d66-d7f d82-d83 d85-d96 d9a-db1 db3-dbb dbd dc0-dc6
  dca dcf-dd4 dd6 dd8-ddf de6-def df2-df4 e01-e3a e3f-e5b e81-e82 e84 e87-e88 e8a e8d e94-e97 e99-e9f ea1-ea3 ea5 ea7
  eaa-eab ead-eb9 ebb-ebd ec0-ec4 ec6 ec8-ecd ed0-ed9 edc-edf f00-f47 f49-f6c f71-f97 f99-fbc fbe-fcc fce-fda
  1000-109f 10a0-10c5 10c7 10cd 10d0-10ff 1200-1248 124a-124d 1250-1256 1258 125a-125d 1260-1288 128a-128d 1290-12b0
  12b2-12b5 12b8-12be 12c0 12c2-12c5 12c8-12d6 12d8-1310 1312-1315 1318-135a 135d-137c 1380-1399 1780-17b3 17b6-17dd
  17e0-17e9 17f0-17f9 1e00-1f15 1f18-1f1d 1f20-1f45 1f48-1f4d 1f50-1f57 1f59 1f5b 1f5d 1f5f-1f7d 1f80-1fb4 1fb6-1fc4
  1fc6-1fd3 1fd6-1fdb 1fdd-1fef 1ff2-1ff4 1ff6-1ffe 2010-2027 2030-205e 2070-2071 2074-208e 2090-2094 20a0-20be
  2100-218b 2190-23fe 2400-2426 2460-27ff 2801-2b73 2b76-2b95 2b98-2bb9 2bbd-2bc8 2bca-2bd1 2bec-2bef 2c60-2c7f
  3001-3029 3030-303d 3041-3096 309b-30ff 3105-312d 3131-3163 3165-318e 31f0-31ff 3200-321e 3220-32fe 3300-33ff
  3400-4db5 4e00-9fd5 ac00-d7a3 ff01-ff9f ffe0-ffe6 1f100-1f10c 1f110-1f12e 1f130-1f16b 1f170-1f1ac
  1f200-1f202 1f210-1f23b 1f240-1f248 1f250-1f251 1f300-1f3fa 1f400-1f6d2 1f6e0-1f6ec 1f6f0-1f6f6 1f910-1f91e 1f920-1f927 1f930
  1f933-1f93e 1f940-1f94b 1f950-1f95e 1f980-1f991 1f9c0
`

/** A non-ASCII character that is shown unescaped; a mark only after a letter of its script. */
export const drawn: RegExp = new RegExp(
  `^[${ranges.trim().split(/\s+/).map((range) => range.replace(/[0-9a-f]+/g, "\\u{$&}")).join("")}]$`,
  "u"
)
