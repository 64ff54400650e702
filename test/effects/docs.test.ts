/** The table of `docs/effects.md` says of each effect what its tool is. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import {
  httpEffect,
  mailEffect,
  s3Put,
  sqliteDatabase,
  sqlEffect,
  sqsSend,
  stripePayment,
} from "../../src/effects/index.ts";
import type { Tool } from "../../src/ports/agent.ts";
import { startBucket } from "../support/services/bucket.ts";
import { startQueue } from "../support/services/queue.ts";

const input = z.object({});
const request = () => ({ url: "https://shop.example" });
const probe = () => ({ kind: "absent" }) as const;

interface Shown {
  readonly effect: Tool["effect"];
  readonly probe: unknown;
  readonly undo: unknown;
}

/** The tools by the first column of the table, with a probe and an undo of the user where they take one. */
async function shelf(): Promise<Readonly<Record<string, Shown>>> {
  const connection = new DatabaseSync(":memory:");
  onTestFinished(() => connection.close());
  const database = sqliteDatabase(connection);
  const [{ client }, fifo, standard] = [
    await startBucket(),
    await startQueue({}),
    await startQueue({ name: "orders" }),
  ];
  const [undo, place] = [{ request }, { input, client, bucket: "b", object: () => ({ key: "k", body: "" }) }];
  const queued = ({ client, url: queueUrl }: typeof fifo) => ({
    input,
    client,
    queueUrl,
    message: () => ({ body: "" }),
  });
  const sender = { send: async () => ({ id: "", messageId: "", rejected: [] }) };
  return {
    "`httpEffect`, `honoursKeys: true`": httpEffect({ input, request, undo, honoursKeys: true }),
    "`httpEffect`, with `lookup`": httpEffect({ input, request, undo, lookup: request }),
    "`httpEffect`, neither": httpEffect({ input, request, undo }),
    "`sqlEffect`": sqlEffect({ input, database, work: () => null, undo: () => null }),
    "`s3Put`, a new object": s3Put(place),
    '`s3Put`, `undo: "delete"`': s3Put({ ...place, undo: "delete" }),
    '`s3Put`, `ifExists: "replace"`': s3Put({ ...place, ifExists: "replace" }),
    "`sqsSend`, FIFO queue": sqsSend(queued(fifo)),
    "`sqsSend`, standard queue": sqsSend({ ...queued(standard), probe }),
    "`mailEffect`": mailEffect({
      input,
      sender,
      domain: "d",
      message: () => ({ from: "", to: "", subject: "" }),
      probe,
    }),
    "`stripePayment`": stripePayment({ input, secret: "KEY", charge: () => ({}) }),
  };
}

/** The rows of the table as cells. */
function rows(): readonly (readonly string[])[] {
  const page = readFileSync(join(import.meta.dirname, "..", "..", "docs", "effects.md"), "utf8");
  const [, table = ""] = /\| effect \| class [^\n]*\n\|[-|]+\n([^]*?)\n\n/.exec(page) ?? [];
  return table.split("\n").map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

test("each row has the class of its tool, and a probe and an undo where its tool has them", async () => {
  const tools = await shelf();
  expect(rows().map(([name]) => name)).toEqual(Object.keys(tools));
  for (const [name = "", classes = "", probed = "", undone = ""] of rows()) {
    const tool = tools[name];
    const said = [...classes.matchAll(/`(none|keyed|probed|unsafe)`/g)].map(([, effect]) => effect);
    const hasProbe = !/^(not needed|none)/.test(probed);
    expect({ name, effect: said.at(-1), hasProbe, hasUndo: !undone.startsWith("none") }).toEqual({
      ...{ name, effect: tool?.effect, hasProbe: tool?.probe !== null, hasUndo: tool?.undo !== null },
    });
  }
});
