/** The caps of tenants that a deployment takes from `cairn.config.ts`. */
import { expect, test } from "vitest";
import { tenantPlacesOf } from "../../infra/project.ts";

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
