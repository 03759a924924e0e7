import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { type AddressKind, addressKind, isInNetwork } from "../../../src/services/outbound/Address.ts"

const cases: ReadonlyArray<readonly [AddressKind, ReadonlyArray<string>]> = [
  ["public", ["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700:4700::1111", "64:ff9b::808:808"]],
  ["loopback", [
    "127.0.0.1",
    "127.255.255.254",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "64:ff9b::127.0.0.1",
    "2002:7f00:1::",
    "0:0:0:0:0:0:0:1"
  ]],
  ["private", [
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "100.64.0.1",
    "100.127.255.255",
    "fc00::1",
    "fd12:3456::1",
    "::ffff:10.0.0.1",
    "fec0::1",
    "64:ff9b::a00:1"
  ]],
  ["link-local", ["169.254.169.254", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254"]],
  ["metadata", [
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "::ffff:168.63.129.16",
    "fd00:ec2::254",
    "fd20:ce::254"
  ]],
  ["multicast", ["224.0.0.1", "239.255.255.250", "ff02::1"]],
  ["reserved", [
    "0.0.0.0",
    "255.255.255.255",
    "192.0.2.1",
    "198.18.0.1",
    "::",
    "::7f00:1",
    "2001:db8::1",
    "2001::1",
    "64:ff9b:1::1",
    "4000::1"
  ]],
  ["invalid", [
    "",
    "localhost",
    "127.1",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "256.1.1.1",
    "1.2.3",
    "1.2.3.4.5",
    "::1::",
    "1:2:3:4:5:6:7:8:9",
    "g::1",
    ":1"
  ]]
]

describe("addressKind", () => {
  for (const [kind, addresses] of cases) {
    it(`knows what is ${kind}`, () => {
      for (const address of addresses) assert.strictEqual(addressKind(address), kind, address)
    })
  }

  const byte = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))
  it.effect.prop(
    "a mapped address is what its IPv4 address is",
    [byte, byte, byte, byte],
    ([a, b, c, d]) =>
      Effect.sync(() => {
        const v4 = `${a}.${b}.${c}.${d}`
        const hex = `::ffff:${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
        assert.strictEqual(addressKind(`::ffff:${v4}`), addressKind(v4))
        assert.strictEqual(addressKind(hex), addressKind(v4))
      })
  )
})

describe("isInNetwork", () => {
  it("knows which addresses are in a network, and takes nothing else for one", () => {
    const pairs: ReadonlyArray<readonly [string, string, boolean]> = [
      ["10.1.2.3", "10.0.0.0/8", true],
      ["11.1.2.3", "10.0.0.0/8", false],
      ["10.1.2.3", "10.1.2.3/32", true],
      ["10.1.2.4", "10.1.2.3/32", false],
      ["1.2.3.4", "0.0.0.0/0", true],
      ["172.31.255.255", "172.16.0.0/12", true],
      ["172.32.0.0", "172.16.0.0/12", false],
      ["fd00::1", "fd00::/8", true],
      ["fe00::1", "fd00::/8", false],
      ["::1", "::1/128", true],
      ["10.0.0.1", "::/0", false],
      ["10.0.0.1", "10.0.0.0/33", false],
      ["10.0.0.1", "10.0.0.0/08", false],
      ["10.0.0.1", "10.0.0.0", false],
      ["10.0.0.1", "10/8", false],
      ["10.0.0.1", "10.0.0.0/8/8", false],
      ["a.example", "0.0.0.0/0", false]
    ]
    for (const [address, network, expected] of pairs) {
      assert.strictEqual(isInNetwork(address, network), expected, `${address} ${network}`)
    }
  })
})
