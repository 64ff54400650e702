/** What a tool gets of a secret that comes and goes. */
import { expect, test } from "vitest";
import { virtualClock } from "../../src/adapters/memory/clock.ts";
import type { SecretLook } from "../../src/ports/secrets.ts";
import { secretsFor } from "../../src/runner/secrets.ts";

const ABSENT: SecretLook = { kind: "absent", where: "the drawer", mend: "put it into the drawer" };

test("one that was not there is looked for again each time, one that was there is kept for a while", async () => {
  const looks: SecretLook[] = [
    ABSENT,
    { kind: "found", value: "first-value" },
    { kind: "found", value: "other-value" },
  ];
  const get = async (): Promise<SecretLook> => looks.shift() ?? ABSENT;
  const secrets = { get, declare: async () => {}, declared: async () => [] };
  const clock = virtualClock(0);
  const mine = secretsFor({ secrets, clock }, { name: "teller", secrets: ["TOKEN"] });
  await expect(mine.get("TOKEN")).rejects.toThrow("put it into the drawer");
  expect(await mine.get("TOKEN")).toBe("first-value");
  expect(await mine.get("TOKEN")).toBe("first-value");
  clock.moveTo(10 * 60_000);
  expect(await mine.get("TOKEN")).toBe("other-value");
  await expect(mine.get("OTHER")).rejects.toThrow("does not declare");
});
