// Registries of a test's own, on loopback: a simple index (PEP 503) with wheels and source archives, and an npm
// registry with tarballs, both of packages that the test makes up. pip, uv and npm are the real ones.
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { gzipSync } from "node:zlib"
import * as zlib from "node:zlib"
import { localServer } from "./localServer.ts"

type Files = Readonly<Record<string, string>>

const u16 = (value: number) => Buffer.from([value & 0xff, value >> 8 & 0xff])
const u32 = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value >>> 0)
  return bytes
}

/** A zip archive whose entries are stored as they are. */
const zip = (files: Files): Buffer => {
  const locals: Array<Buffer> = []
  const central: Array<Buffer> = []
  let offset = 0
  for (const [path, text] of Object.entries(files)) {
    const [name, data] = [Buffer.from(path), Buffer.from(text)]
    const head = Buffer.concat([
      u16(20),
      u16(0),
      u16(0),
      u16(0),
      u16(0x21),
      u32(zlib.crc32(data)),
      u32(data.length),
      u32(data.length),
      u16(name.length),
      u16(0)
    ])
    const local = Buffer.concat([u32(0x04034b50), head, name, data])
    central.push(Buffer.concat([
      u32(0x02014b50),
      u16(20),
      head,
      u16(0),
      u16(0),
      u16(0),
      u32(0o644 << 16),
      u32(offset),
      name
    ]))
    locals.push(local)
    offset += local.length
  }
  const directory = Buffer.concat(central)
  const count = u16(central.length)
  return Buffer.concat([
    ...locals,
    directory,
    Buffer.concat([u32(0x06054b50), u16(0), u16(0), count, count, u32(directory.length), u32(offset), u16(0)])
  ])
}

/** A gzipped tar archive. */
export const tarball = (files: Files): Buffer => {
  const blocks: Array<Buffer> = []
  for (const [path, text] of Object.entries(files)) {
    const data = Buffer.from(text)
    const head = Buffer.alloc(512)
    head.write(path, 0, "utf8")
    head.write("0000644\0", 100)
    head.write("0000000\0", 108)
    head.write("0000000\0", 116)
    head.write(`${data.length.toString(8).padStart(11, "0")}\0`, 124)
    head.write("00000000000\0", 136)
    head.write("        0", 148)
    head.write("ustar\0", 257)
    head.write("00", 263)
    const sum = head.reduce((all, byte) => all + byte, 0)
    head.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148)
    blocks.push(head, data, Buffer.alloc((512 - data.length % 512) % 512))
  }
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]))
}

export interface PythonPackage {
  readonly name: string
  readonly version: string
  readonly files: Files
  readonly requires?: ReadonlyArray<string>
  /** A source archive whose setup.py this is, in place of a wheel. */
  readonly setup?: string
}

const sha256 = (data: Buffer) => createHash("sha256").update(data).digest("hex")

export const wheelOf = ({ files, name, requires = [], version }: PythonPackage): Buffer => {
  const info = `${name.replaceAll("-", "_")}-${version}.dist-info`
  const all: Record<string, string> = {
    ...files,
    [`${info}/METADATA`]: [
      "Metadata-Version: 2.1",
      `Name: ${name}`,
      `Version: ${version}`,
      ...requires.map((one) => `Requires-Dist: ${one}`),
      ""
    ].join("\n"),
    [`${info}/WHEEL`]: "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
  }
  const record = Object.entries(all).map(([path, text]) =>
    `${path},sha256=${createHash("sha256").update(text).digest("base64url")},${Buffer.byteLength(text)}`
  )
  return zip({ ...all, [`${info}/RECORD`]: [...record, `${info}/RECORD,,`, ""].join("\n") })
}

const archiveOf = (one: PythonPackage): readonly [name: string, data: Buffer] => {
  const base = `${one.name.replaceAll("-", "_")}-${one.version}`
  if (one.setup === undefined) return [`${base}-py3-none-any.whl`, wheelOf(one)]
  return [
    `${base}.tar.gz`,
    tarball({
      [`${base}/setup.py`]: one.setup,
      [`${base}/PKG-INFO`]: `Metadata-Version: 2.1\nName: ${one.name}\nVersion: ${one.version}\n`,
      ...Object.fromEntries(Object.entries(one.files).map(([path, text]) => [`${base}/${path}`, text]))
    })
  ]
}

export interface Index {
  /** For PIP_INDEX_URL and UV_INDEX_URL. */
  readonly url: string
  readonly seen: ReadonlyArray<{ readonly url: string }>
  /** What the index has from now on. */
  readonly serve: (packages: ReadonlyArray<PythonPackage>) => void
  readonly hashOf: (one: PythonPackage) => string
  /** Milliseconds that a download takes. */
  delay: number
}

const normal = (name: string) => name.toLowerCase().replaceAll(/[._-]+/g, "-")

/** A simple index with these packages. */
export const pythonIndex = Effect.fnUntraced(function*(first: ReadonlyArray<PythonPackage>) {
  let packages = first
  const state = { delay: 0 }
  const server = yield* localServer((request, response) => {
    const [, kind, name = ""] = (request.url ?? "").split("/")
    if (kind === "simple") {
      const links = packages.filter((one) => normal(one.name) === name).map((one) => {
        const [file, data] = archiveOf(one)
        return `<a href="/files/${file}#sha256=${sha256(data)}">${file}</a>`
      })
      response.writeHead(links.length === 0 ? 404 : 200, { "content-type": "text/html" })
      return void response.end(`<!DOCTYPE html><html><body>${links.join("\n")}</body></html>`)
    }
    const found = packages.map(archiveOf).find(([file]) => file === name)
    setTimeout(() => {
      response.writeHead(found === undefined ? 404 : 200, { "content-type": "application/octet-stream" })
      response.end(found?.[1])
    }, state.delay)
  })
  return Object.assign(state, {
    url: `${server.url}/simple/`,
    seen: server.seen,
    serve: (next: ReadonlyArray<PythonPackage>) => {
      packages = next
    },
    hashOf: (one: PythonPackage) => `sha256:${sha256(archiveOf(one)[1])}`
  }) satisfies Index as Index
})

export interface NodePackage {
  readonly name: string
  readonly version: string
  readonly files: Files
  readonly dependencies?: Readonly<Record<string, string>>
  readonly scripts?: Readonly<Record<string, string>>
  readonly manifest?: Readonly<Record<string, unknown>>
  /** What the registry says of the tarball in place of the truth. */
  readonly integrity?: string
}

const manifestOf = ({ dependencies = {}, manifest = {}, name, scripts = {}, version }: NodePackage) => ({
  name,
  version,
  dependencies,
  scripts,
  ...manifest
})

export const nodeTarball = (one: NodePackage): Buffer =>
  tarball({
    "package/package.json": JSON.stringify(manifestOf(one)),
    ...Object.fromEntries(Object.entries(one.files).map(([path, text]) => [`package/${path}`, text]))
  })

const integrityOf = (data: Buffer) => `sha512-${createHash("sha512").update(data).digest("base64")}`

/** An npm registry with these packages. The newest version stands last. */
export const npmRegistry = Effect.fnUntraced(function*(first: ReadonlyArray<NodePackage>) {
  let packages = first
  const server = yield* localServer((request, response) => {
    const path = decodeURIComponent((request.url ?? "").split("?", 1)[0] ?? "").slice(1)
    const tar = packages.find((one) => path === `${one.name}/-/${one.version}.tgz`)
    if (tar !== undefined) {
      response.writeHead(200, { "content-type": "application/octet-stream" })
      return void response.end(nodeTarball(tar))
    }
    const versions = packages.filter((one) => one.name === path)
    if (versions.length === 0) {
      response.writeHead(404, { "content-type": "application/json" })
      return void response.end("{}")
    }
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify({
      name: path,
      "dist-tags": { latest: versions.at(-1)?.version },
      versions: Object.fromEntries(versions.map((one) => {
        const data = nodeTarball(one)
        return [one.version, {
          ...manifestOf(one),
          ...(one.scripts === undefined ? {} : { hasInstallScript: true }),
          dist: {
            tarball: `http://${request.headers.host}/${one.name}/-/${one.version}.tgz`,
            integrity: one.integrity ?? integrityOf(data),
            shasum: createHash("sha1").update(data).digest("hex")
          }
        }]
      }))
    }))
  })
  return {
    url: `${server.url}/`,
    seen: server.seen,
    serve: (next: ReadonlyArray<NodePackage>) => {
      packages = next
    },
    hashOf: (one: NodePackage) => integrityOf(nodeTarball(one))
  }
})
