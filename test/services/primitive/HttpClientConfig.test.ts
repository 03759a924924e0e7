import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { planRequest } from "../../../src/services/primitive/HttpClientConfig.ts"

describe("planRequest", () => {
  it("leaves what the connection is made of to Kiwi, also where auth names a header", () => {
    for (const header of ["Host", "Transfer-Encoding", "content-length", "Connection", "proxy-authorization"]) {
      const config = { url: "https://api.example/", auth: { type: "api_key", key: "chunked", header } }
      const planned = planRequest({ tool: "t", config, signed: config, parameters: {} })
      assert.isTrue(Result.isFailure(planned), header)
      assert.include(String(Result.isFailure(planned) ? planned.failure.message : ""), "is set by Kiwi")
    }
  })
})
