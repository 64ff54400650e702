/** The caps of tenants that a deployment takes from `cairn.config.ts`. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readProject, tenantPlacesOf } from "../../infra/project.ts";

test("a tenant with a cap has as many places; one with a weight alone has no cap", () => {
  expect(tenantPlacesOf({ acme: { concurrency: 100, weight: 2 }, beta: { weight: 3 } })).toEqual({ acme: 100 });
});

test("a cap that a deployment cannot hold is refused with what to write", () => {
  expect(() => tenantPlacesOf({ beta: {}, acme: { concurrency: 101 } })).toThrow(
    expect.objectContaining({
      code: "TenantCapTooWide",
      message: expect.stringMatching(/^tenants\.acme\.concurrency of cairn\.config\.ts is 101, .*write 100 or less/),
    }),
  );
});

test("the caps of the config are in the bundles", async () => {
  const dir = mkdtempSync(join(tmpdir(), "cairn-places-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const config = { agents: [], tenants: { acme: { concurrency: 3 } } };
  writeFileSync(join(dir, "cairn.config.ts"), `export const config = ${JSON.stringify(config)};`);
  expect((await readProject(dir)).bundling.tenantPlaces).toEqual({ acme: 3 });
});
