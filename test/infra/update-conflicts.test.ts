/** A deployment on LocalStack that changes a function twice in a row. */
import { expect, test, vi } from "vitest";
import { whenFree } from "../../localstack/resources/functions.ts";

const conflict = Object.assign(new Error("An update is in progress"), { name: "ResourceConflictException" });
const pause = () => Promise.resolve();

test("sends a change again while an earlier one is in progress, and gives up at last", async () => {
  const twice = vi
    .fn<() => Promise<string>>()
    .mockRejectedValueOnce(conflict)
    .mockRejectedValueOnce(conflict)
    .mockResolvedValue("changed");
  expect(await whenFree(twice, pause)).toBe("changed");
  const always = vi.fn<() => Promise<string>>().mockRejectedValue(conflict);
  await expect(whenFree(always, pause)).rejects.toBe(conflict);
  expect({ twice: twice.mock.calls.length, always: always.mock.calls.length }).toEqual({ twice: 3, always: 21 });
});

test("sends nothing again that is refused for another reason", async () => {
  const refused = vi.fn<() => Promise<string>>().mockRejectedValue(new Error("no such role"));
  await expect(whenFree(refused, pause)).rejects.toThrow("no such role");
  expect(refused).toHaveBeenCalledTimes(1);
});
