/** Lists of records in a store of which one record is damaged: the record is named, and all others are shown. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { runCli } from "../support/processes/cli-in-process.ts";
import { temporaryDir } from "../process/fixtures/store.ts";

/** A store with two tokens, the first of which is damaged, as is the audit record of its creation. */
async function withDamage() {
  const dir = temporaryDir();
  const create = async (name: string) => {
    const { out } = await runCli(dir, "token", "create", "--scopes", "admin", "--name", name, "--json");
    return (JSON.parse(out) as { readonly token: string }).token;
  };
  const ids = { damaged: await create("first"), sound: await create("second") };
  const db = new DatabaseSync(join(dir, "cairn.sqlite"));
  db.exec("UPDATE records SET body = replace(body, 'first', 'fifth')");
  db.close();
  return { dir, ...ids };
}

test("the list of tokens shows the others, and names the damaged one", async () => {
  const { dir, damaged, sound } = await withDamage();
  const { exit, out } = await runCli(dir, "token", "list");
  expect({ exit, out }).toEqual({ exit: 0, out: expect.stringContaining(`\n${sound} `) });
  expect(out).toContain(
    `\n${damaged} cannot be read, so it lets no request in; make another one: npx cairn token create --tenant local`,
  );
  const lines = (await runCli(dir, "token", "list", "--json")).out.trim().split("\n");
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { token: sound },
    { token: damaged, damaged: "it cannot be read" },
  ]);
});

test("the audit log shows the others, and a line for the damaged record", async () => {
  const { dir } = await withDamage();
  const { exit, out } = await runCli(dir, "audit-log");
  expect(exit).toBe(0);
  expect(out.trim().split("\n").slice(1)).toEqual([
    expect.stringMatching(/ token create +created +.*name=second/),
    expect.stringMatching(/ unknown +unknown +unreadable +damaged=it has other content/),
  ]);
});
