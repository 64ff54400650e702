/** Items with a missing or malformed attribute: their runs are left alone, and every other run is read. */
import { describe, expect, test } from "vitest";
import { ATTRIBUTES, type Attribute } from "../../../src/adapters/aws/table/attributes.ts";
import { rowItem } from "../../../src/adapters/aws/table/item.ts";
import { newRow } from "../../../src/protocol/row.ts";
import { CLAIM } from "../../../src/protocol/row-claim.ts";
import { ok, refusal } from "../../support/aws/aws-server.ts";
import { awsWorldAt, useAwsServer } from "../../support/aws/aws-world.ts";

const NOW = 1_700_000_000_000;
const BORN = "aaaaaaaaaa";
const runOf = (letter: string): string => `acme-${letter.repeat(26)}`;

const server = useAwsServer();

const worldAt = () => awsWorldAt(server.endpoint);

const tableAt = () => worldAt().table;

const itemOf = (letter: string) => {
  const of = { run: runOf(letter), born: BORN, now: NOW, deadline: NOW + 1, parent: null, tenant: "acme" };
  const snapshot = { version: 0, key: "snapshots/0", digest: "digest" };
  return rowItem(newRow({ ...of, agent: "travel", agentVersion: "1", inputDigest: "digest", snapshot }));
};

function damaged(letter: string, attribute: Attribute) {
  const { [ATTRIBUTES[attribute]]: _, ...rest } = itemOf(letter);
  return rest;
}

const DAMAGED = damaged("b", "epoch");
const OF = { run: runOf("b"), born: BORN, now: NOW };
const WHY = "its attribute e (epoch) is missing or has a value that it cannot have";

describe("a page", () => {
  const found = () => ok({ Items: ["a", "b", "c"].map(itemOf) });
  const rows = () => ok({ Responses: { runs: [itemOf("a"), DAMAGED, itemOf("c")] } });

  test("of a list names the damaged row and contains all others", async () => {
    server.answer(found(), rows());
    const page = await tableAt().list({ tenant: "acme", status: "queued", limit: 9, after: null, now: NOW });
    expect(page.rows.map(({ run }) => run)).toEqual([runOf("c"), runOf("a")]);
    expect(page.damaged).toMatchObject([{ run: runOf("b"), why: WHY }]);
  });

  test("of live runs can continue after each of its rows", async () => {
    server.answer(found(), ...Array.from({ length: 15 }, () => ok({ Items: [] })), rows());
    const table = tableAt();
    const { rows: alive, damaged: left, behind } = await table.alive({ limit: 9, after: null, now: NOW });
    expect({ alive: alive.map(({ run }) => run), left: left.map(({ run }) => run) }).toEqual({
      alive: [runOf("a"), runOf("c")],
      left: [runOf("b")],
    });
    server.answer(ok({ Items: [] }));
    await table.alive({ limit: 9, after: behind[0] ?? null, now: NOW });
    expect(server.asked[0]?.body).toContain(runOf("a"));
  });

  test("does not treat a row as expired when its expiry is damaged", async () => {
    server.answer(found(), ok({ Responses: { runs: [{ ...itemOf("b"), [ATTRIBUTES.expiresAtSec]: { S: "1" } }] } }));
    const page = await tableAt().list({ tenant: "acme", status: "queued", limit: 9, after: null, now: NOW });
    expect(page).toMatchObject({ rows: [], damaged: [{ run: runOf("b") }] });
  });
});

describe("a damaged row", () => {
  test("is refused with RowDamaged when it is read", async () => {
    server.answer(ok({ Item: DAMAGED }));
    await expect(tableAt().read(OF.run, NOW)).rejects.toMatchObject({ code: "RowDamaged", run: OF.run, why: WHY });
  });

  const unreadable = { kind: "unreadable", why: `its row is damaged: ${WHY}` };
  const refused = refusal("ConditionalCheckFailedException", { Item: DAMAGED });
  const entry = { execution: "execution 1", epoch: 0, retry: 0 };
  const claim = { ...OF, chain: 1, entry, owner: "owner", leaseUntil: NOW + 1 };

  const sound = ok({ Item: itemOf("b") });
  test.each([
    ["when it is read", [ok({ Item: DAMAGED })]],
    ["when its write is refused", [sound, refused]],
    ["when its write lands, since no condition names what is damaged", [sound, ok({ Attributes: DAMAGED })]],
  ])("is unreadable for a claim %s", async (_, answers) => {
    server.answer(...answers);
    expect(await tableAt().decide(claim, CLAIM)).toEqual(unreadable);
    expect(server.asked).toHaveLength(answers.length);
  });

  test("is unreadable for operations of every incarnation, because its own may be the damaged field", async () => {
    server.answer(ok({ Item: damaged("b", "born") }));
    expect(await tableAt().decide(claim, CLAIM)).toMatchObject({ kind: "unreadable" });
    expect(server.asked).toHaveLength(1);
  });

  test("is never replaced by a run with the same key", async () => {
    const Item = { ...DAMAGED, [ATTRIBUTES.expiresAtSec]: { N: "1" } };
    const reasons = [{ Code: "ConditionalCheckFailed", Item }, { Code: "None" }];
    server.answer(refusal("TransactionCanceledException", { CancellationReasons: reasons }));
    const snapshot = { version: 0, key: "snapshots/0", digest: "digest" };
    const rest = { agent: "travel", agentVersion: "1", inputDigest: "digest", parent: null, tenant: "acme" };
    expect(await tableAt().create({ ...OF, ...rest, snapshot, deadline: NOW })).toEqual(unreadable);
    expect(server.asked).toHaveLength(1);
  });

  test("accepts no message", async () => {
    const reasons = [{ Code: "None" }, { Code: "ConditionalCheckFailed", Item: DAMAGED }, { Code: "None" }];
    server.answer(refusal("TransactionCanceledException", { CancellationReasons: reasons }));
    const message = { id: "m", sentAt: NOW, body: { kind: "user", text: "hello", by: "anna" } } as const;
    expect(await worldAt().inbox.deliver({ ...OF, message, deadline: NOW })).toEqual(unreadable);
  });
});
