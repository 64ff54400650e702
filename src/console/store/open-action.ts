/** The action whose dialog the page of a run shows: a button or the palette opens it. */
import { signal } from "@preact/signals";
import type { ActionName } from "../model/actions.ts";

export const openAction = signal<ActionName | null>(null);
