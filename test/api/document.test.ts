/** The document in the repository is the one that the API answers, and says all that a reader needs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CHAT_ROUTES } from "../../src/api/chat/routes.ts";
import { openApiText } from "../../src/api/document.ts";
import { runDocument } from "../../src/api/schemas.ts";
import { ROWS } from "../../src/operations/table.ts";
import { show } from "../../src/operations/views.ts";
import { createApiHarness } from "../support/harness/api-harness.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const kept = readFileSync(join(ROOT, "docs", "openapi.json"), "utf8");

interface Documented {
  readonly security?: readonly unknown[];
  readonly tags?: readonly string[];
}

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Documented>>>>;
  readonly security: readonly unknown[];
}

describe("docs/openapi.json", () => {
  test("matches the routes (npm run openapi writes it)", () => {
    expect(kept).toBe(openApiText());
  });

  test("matches the responses of the API", async () => {
    const { body } = await createApiHarness({}, undefined, ROWS, { hasChats: true }).ask({ path: "/openapi.json" });
    expect(body).toEqual(JSON.parse(kept));
  });

  test("has the chat protocols under a tag, and a server without them answers a document without them", async () => {
    const { paths } = JSON.parse(kept) as Document;
    const tagged = Object.entries(paths).filter(([, each]) =>
      Object.values(each).some(({ tags }) => tags?.includes("chat")),
    );
    const chats = tagged.map(([path]) => path);
    expect(chats.toSorted()).toEqual([...new Set(CHAT_ROUTES.map(({ path }) => path))].toSorted());
    const { body } = await createApiHarness().ask({ path: "/openapi.json" });
    expect(body["tags"]).toBeUndefined();
    const others = Object.keys(paths).filter((path) => !chats.includes(path));
    expect(Object.keys(body["paths"] as Document["paths"])).toEqual(others);
  });

  test("requires a caller on every route except health and callbacks", () => {
    const { openapi, paths, security } = JSON.parse(kept) as Document;
    expect(openapi).toBe("3.1.0");
    expect(security).not.toEqual([]);
    const open = Object.entries(paths).filter(([, each]) =>
      Object.values(each).some(({ security }) => security?.length === 0),
    );
    expect(open.map(([path]) => path)).toEqual(["/healthz", "/callbacks/{token}"]);
  });

  test("references only definitions that exist", () => {
    const names = [...kept.matchAll(/"\$ref": "#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name ?? "");
    const { components } = JSON.parse(kept) as { readonly components: { readonly schemas: object } };
    expect(Object.keys(components.schemas)).toEqual(expect.arrayContaining([...new Set(names)]));
    expect(names).toContain("Problem");
  });

  test("has every field of a run that the command line shows", async () => {
    const harness = createApiHarness();
    const { body } = await harness.ask({ path: "/runs", json: { agent: "actor" } });
    const shown = (await show(harness.world, String(body["run"]))) ?? {};
    expect(Object.keys(runDocument.shape).toSorted()).toEqual([...Object.keys(shown), "omitted"].toSorted());
  });
});
