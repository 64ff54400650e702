/** The part `webhooks` of the config: what it refuses. */
import { networkInterfaces } from "node:os";
import { describe, expect, test } from "vitest";
import { isOfThisMachine, webhooksSchema } from "../../src/sdk/webhooks.ts";

const HOOK = { url: "https://hooks.example/a", events: ["run.failed"], secret: "HOOK_KEY" };
const isFit = (change: object): boolean => webhooksSchema().safeParse([{ ...HOOK, ...change }]).success;

test("takes HTTPS, and HTTP to this machine", () => {
  expect(
    [{}, { url: "http://127.0.0.1:9/x" }, { url: "http://[::1]/" }, { link: "https://ops.example/runs/{run}" }].map(
      isFit,
    ),
  ).toEqual([true, true, true, true]);
});

test("takes HTTP to each name of this machine, and says so of another", () => {
  const own = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  const addresses = own.map(({ address, family }) => (family === "IPv6" ? `[${address}]` : address));
  const urls = ["http://127.0.0.2/x", "http://app.localhost:3000/", "http://[::ffff:127.0.0.1]:3000/"];
  expect(
    [...urls, ...addresses.filter((each) => !each.includes("%")).map((each) => `http://${each}:3000/`)].filter(
      (url) => !isFit({ url }),
    ),
  ).toEqual([]);
  const refused = webhooksSchema().safeParse([{ ...HOOK, url: "http://hooks.example/" }]).error?.issues[0]?.message;
  expect(refused).toContain("http:// for a program on this machine");
});

describe("refuses", () => {
  for (const url of [
    ...["http://hooks.example/", "http://169.254.169.254/latest", "http://localhost.example/", "ftp://hooks.example/"],
    ...["https://user:word@hooks.example/", "file:///etc/passwd", "hooks.example", "https://hooks.example/#a"],
  ])
    test(`the URL ${url}`, () => expect(isFit({ url })).toBe(false));

  test("an unknown event, a name that is no secret's, an unsafe link, and one URL twice", () => {
    expect(
      [{ events: ["run.started"] }, { events: [] }, { secret: "whsec_abc" }, { link: "javascript:x{run}" }].map(isFit),
    ).toEqual([false, false, false, false]);
    expect(webhooksSchema().safeParse([HOOK, HOOK]).success).toBe(false);
  });
});

test("knows which endpoints a deployment cannot reach", () => {
  expect(
    ["http://localhost:1/", "https://127.0.0.1/", "https://hooks.example/"].map((url) => isOfThisMachine({ url })),
  ).toEqual([true, true, false]);
});
