/** What another cairn wrote before version 0.1.0 is refused by name, and is not taken for damaged or for newer. */
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { rowItem } from "../../src/adapters/aws/table/item.ts";
import { rowInItem } from "../../src/adapters/aws/table/item-reader.ts";
import { readArchive } from "../../src/codec/archive.ts";
import { decodeRow } from "../../src/codec/row.ts";
import { FINGERPRINT } from "../../src/protocol/fingerprint.ts";
import { FORMAT, type Row } from "../../src/protocol/row.ts";
import { decodeRecord, encodeRecord } from "../../src/langgraph/record.ts";
import { row } from "../support/states/states-and-events.ts";
import { rewriteRow } from "../support/runs/rewrite-row.ts";
import { playScene } from "../slow/crash/play.ts";

const OTHER = "f".repeat(FINGERPRINT.length);
const own = rewriteRow(row());
const withOther = ({ checksum = "" }: Row): string => `${OTHER}${checksum.slice(FINGERPRINT.length)}`;
/** A row that a cairn with other stored forms wrote: its digests cover other fields. */
const otherForms: Row = { ...own, checksum: withOther(rewriteRow(row({ commitId: "another" }))) };
const before: Row = rewriteRow({ ...own, format: 1 });

const FOREIGN = [
  [
    "before the first release",
    before,
    "BeforeFirstRelease",
    "before its first release; finish its runs with that version",
  ],
  ["with other stored forms", otherForms, "OtherSchemas", "other stored forms than this one"],
] as const;

describe.each(FOREIGN)("a row that was written %s", (_, written, code, why) => {
  const refusal = {
    code,
    run: row().run,
    why: expect.stringContaining(why) as string,
    refused: { kind: "unreadable" },
  };

  test("is refused by that name", () => {
    expect(decodeRow(written, written.run)).toMatchObject(refusal);
    expect(rowInItem(rowItem(written))).toMatchObject(refusal);
  });

  test("is refused by that name whatever its level and its shape", () => {
    const { commitId: _commit, ...shapeless } = { ...written, level: 99 };
    expect(decodeRow(shapeless, written.run)).toMatchObject(refusal);
    const { v: _version, ...item } = rowItem({ ...written, level: 99 });
    expect(rowInItem(item)).toMatchObject(refusal);
  });
});

test("a row is damaged, and not foreign, if only its format or its fingerprint was changed", () => {
  for (const changed of [
    { ...own, format: 1 },
    { ...own, checksum: withOther(own) },
  ]) {
    expect(decodeRow(changed, own.run)).toMatchObject({ code: "RowDamaged" });
    expect(rowInItem(rowItem(changed))).toMatchObject({ code: "RowDamaged" });
  }
  expect(decodeRow(own, own.run)).toEqual(own);
  expect(decodeRow({ ...before, format: FORMAT + 1 }, own.run)).toMatchObject({ format: FORMAT + 1 });
});

test.each([
  ["before the first release", /"format":2/, '"format":1', "BeforeFirstRelease"],
  ["with other stored forms", `"forms":"${FINGERPRINT}"`, `"forms":"${OTHER}"`, "OtherSchemas"],
  ["without a fingerprint", `"forms":"${FINGERPRINT}",`, "", "OtherSchemas"],
] as const)("an archive that was written %s is refused by that name", async (_, from, to, code) => {
  const { world } = await playScene();
  const [, bytes = new Uint8Array()] = [...world.store.objects].find(([key]) => key.startsWith("archive/")) ?? [];
  expect(readArchive(bytes).run.status).toBe("completed");
  const text = gunzipSync(bytes).toString("utf8");
  expect(text.replace(from, to)).not.toBe(text);
  expect(() => readArchive(gzipSync(text.replace(from, to)))).toThrow(expect.objectContaining({ code }));
});

test("a record of LangGraph from before the first release is refused by that name", () => {
  const bytes = Buffer.from(encodeRecord({ kind: "writes", task: "t", path: "", writes: [] }, []));
  const at = bytes.indexOf('"format":2');
  bytes.write('"format":1', at);
  expect(() => decodeRecord("writes", { key: "k", bytes })).toThrow(
    expect.objectContaining({ code: "BeforeFirstRelease", message: expect.stringContaining("commit 77840092") }),
  );
});
