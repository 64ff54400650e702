/** Who uses this page, and what the server performs for them. Both stay until the page loads anew. */
import { signal } from "@preact/signals";
import type { CallerView } from "../../operations/caller-view.ts";
import { askApi } from "../api/http.ts";
import { type Offerable, offered } from "../model/allowed.ts";

/** Null until it is known. */
export const caller = signal<CallerView | null>(null);

/** The server performs it for this caller, as far as that is known. */
export const mayDo = (name: Offerable): boolean => offered(name, caller.value) === "yes";

/** Asked once. If no answer comes, the page offers every action, and the server refuses what it does not perform. */
export async function readCaller(): Promise<void> {
  caller.value = await askApi<CallerView>("/caller").catch(() => null);
}
