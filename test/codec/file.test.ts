/** Files of unknown origin: what is accepted, under which type and name, and how they are served. */
import { describe, expect, test } from "vitest";
import { sha256 } from "../../src/codec/canonical.ts";
import { fileContent, filesIn, wrongWithFiles } from "../../src/codec/file.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { savedAs, servedAs } from "../../src/codec/media-types.ts";
import { asJson, asJsonWithFiles } from "../../src/codec/value.ts";
import { toolFile } from "../../src/index.ts";
import { pdf, png } from "../files/support.ts";

const PAGE = Buffer.from("<script>alert(1)</script>");

function accepted(bytes: Uint8Array, of: { readonly name?: string; readonly mediaType?: string } = {}) {
  const parsed = fileContent({ bytes, ...of });
  return parsed.ok ? parsed.content.ref : expect.fail(parsed.why);
}

const refused = (bytes: unknown, mediaType?: string): string => {
  const parsed = fileContent({ bytes: bytes as Uint8Array, mediaType, name: "a.png" });
  return parsed.ok ? expect.fail("it was accepted") : parsed.why;
};

describe("the media type", () => {
  test.each([
    [png(), {}, "image/png"],
    [png(), { mediaType: "IMAGE/PNG; charset=x" }, "image/png"],
    [png(), { mediaType: "text/html" }, "image/png"],
    [pdf(), { name: "scan" }, "application/pdf"],
    [Buffer.from("RIFF0000WEBPVP8 "), {}, "image/webp"],
    [Buffer.from("RIFF0000WAVEfmt "), { name: "a.wav" }, "audio/wav"],
    [Buffer.from([255, 216, 255, 224]), { mediaType: "image/jpg" }, "image/jpeg"],
    [PAGE, { name: "page.html" }, "text/html"],
    [PAGE, {}, "text/plain"],
    [PAGE, { mediaType: "application/x-own" }, "application/x-own"],
    [Buffer.from([0, 1, 2]), {}, "application/octet-stream"],
    [Buffer.from([200, 1, 2]), { name: "a.constructor" }, "application/octet-stream"],
  ])("of file %# is what its bytes, its giver and its name say, in this order", (bytes, of, mediaType) => {
    expect(accepted(bytes, of).mediaType).toBe(mediaType);
  });
});

test("a file is refused that is no file, is empty, is too large, or is no image although it says so", () => {
  expect(refused("text")).toBe("a file needs its bytes as a Uint8Array");
  expect(refused(new Uint8Array())).toBe("the file is empty");
  expect(refused(new Uint8Array(SIZES.fileBytesMax + 1))).toMatch(/^the file has 8388609 bytes; at most 8388608 are/);
  expect(refused(PAGE, "image/png")).toBe(
    "the file a.png is no image/png: its first bytes are those of something else",
  );
  expect(refused(pdf(), "image/png")).toMatch(/is no image\/png: its first bytes are those of application\/pdf$/);
  expect(refused(PAGE, "image")).toBe('"image" is not a media type such as image/png');
  expect(refused(PAGE, `a/${"b".repeat(100)}`)).toMatch(/is not a media type/);
});

test("a name cannot leave a folder, and acts on no terminal and no header", () => {
  const names = ["../../etc/passwd", "C:\\temp\\a.png", "..", "", 'a\u001b[31m\r\n"b', "\u202egnp.exe"];
  expect(names.map((name) => accepted(PAGE, { name }).name)).toEqual([
    "passwd",
    "a.png",
    "file",
    "file",
    "a[31mb",
    "gnp.exe",
  ]);
  // A Mac names a file in Unicode's form D.
  expect(accepted(PAGE, { name: "re\u0301sume\u0301.pdf" }).name).toBe("r\u00e9sum\u00e9.pdf");
  expect(accepted(PAGE, { name: "n".repeat(500) }).name).toHaveLength(SIZES.fileNameCharactersMax);
});

test("files are bounded together: in number and in size", () => {
  const contents = Array.from({ length: SIZES.filesMax + 1 }, (_, index) => {
    const parsed = fileContent({ bytes: png(String(index)) });
    return parsed.ok ? parsed.content : expect.fail(parsed.why);
  });
  expect(wrongWithFiles(contents.slice(1))).toBeNull();
  expect(wrongWithFiles(contents)).toBe("9 files; at most 8 are accepted at once");
  const [first] = contents;
  const large = { ...first, ref: { ...first?.ref, bytes: SIZES.fileBytesMax } } as (typeof contents)[number];
  expect(wrongWithFiles([large, large, ...contents.slice(0, 1)])).toMatch(/^the files have 16777\d+ bytes together/);
});

test("a value with files keeps a reference for each, and each file once", () => {
  const shot = toolFile(png(), { name: "a.png" });
  const read = asJsonWithFiles({ list: [shot, { again: shot }], n: 1 });
  const ref = { file: sha256(png()), mediaType: "image/png", bytes: png().byteLength, name: "a.png" };
  expect(read).toEqual({
    ...{ ok: true, json: { list: [ref, { again: ref }], n: 1 } },
    files: [{ ref: { kind: "file", ...ref }, bytes: png() }],
  });
});

test("a file is refused where no file may be, and a value that only looks like a file is plain JSON or refused", () => {
  expect(asJson({ shot: toolFile(png()) })).toEqual({ ok: false, why: 'a ToolFile is not JSON at "shot"' });
  const fake = { [Symbol.for("cairn.file")]: { bytes: [1, 2], name: "a" } };
  expect(asJsonWithFiles({ fake })).toMatchObject({
    ok: false,
    why: 'a file needs its bytes as a Uint8Array at "fake"',
  });
  const throws = new Proxy(toolFile(png()), {
    has: () => {
      throw new Error("no");
    },
  });
  expect(asJsonWithFiles(throws)).toMatchObject({ ok: false });
  expect(() => toolFile(PAGE, { mediaType: "image/png" })).toThrow(TypeError);
});

test("what looks like a reference in JSON of a tool is none", () => {
  const file = { kind: "file", file: "a".repeat(64) };
  expect(
    filesIn({ parts: [file, { kind: "result", value: { kind: "inline", json: file }, provider: file, before: file }] }),
  ).toEqual(["a".repeat(64)]);
});

test("a browser saves a file, and does not run it", () => {
  expect(["text/html", "image/svg+xml", "application/javascript", "image/png", "text/plain"].map(servedAs)).toEqual([
    ...["application/octet-stream", "application/octet-stream", "application/octet-stream"],
    ...["image/png", "text/plain; charset=utf-8"],
  ]);
  expect(savedAs('a"b\\ü%.png')).toBe(`attachment; filename="a_b___.png"; filename*=UTF-8''a%22b%5C%C3%BC%25.png`);
});
