/** The supervisor of a store and its child processes. */
import { describe, expect, it } from "vitest";
import { identityOf } from "../../../src/adapters/local/process-identity.ts";
import { StoreSupervised } from "../../../src/ports/supervision.ts";
import {
  childrenOf,
  releaseSupervision,
  supervisorOf,
  takeSupervision,
} from "../../../src/adapters/local/store/processes.ts";
import { NOW, temporaryStore } from "../../process/fixtures/store.ts";

describe("supervision", () => {
  const self = identityOf(process.pid);
  if (self === null) throw new Error("this process has no identity");

  it("is held by one process at a time, and released", () => {
    const store = temporaryStore();
    expect(supervisorOf(store)).toBeNull();
    takeSupervision(store, { self, now: NOW });
    expect(supervisorOf(store)).toEqual(self);
    expect(() => takeSupervision(store, { self, now: NOW + 1 })).toThrow(StoreSupervised);
    expect(() => takeSupervision(store, { self, now: NOW + 1 })).toThrow(`${process.pid} since 2023-11-14T22:13:20Z`);
    releaseSupervision(store, self);
    expect(supervisorOf(store)).toBeNull();
  });

  it("is taken over from a dead process even if another process has its pid", () => {
    const store = temporaryStore();
    takeSupervision(store, { self: { pid: process.pid, startedAt: "another time" }, now: NOW });
    expect(supervisorOf(store)).toBeNull();
    takeSupervision(store, { self, now: NOW });
    // The old process releases it late.
    releaseSupervision(store, { pid: process.pid, startedAt: "another time" });
    expect(supervisorOf(store)).toEqual(self);
  });

  it("records its child processes in the store", () => {
    const children = childrenOf(temporaryStore());
    const [one, other] = [
      { pid: 7, startedAt: "a" },
      { pid: 7, startedAt: "b" },
    ];
    children.add(one);
    children.add(one);
    children.add(other);
    children.remove(one);
    expect(children.all().map((child) => ({ ...child }))).toEqual([other]);
  });
});
