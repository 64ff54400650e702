/** The events of topologies, and of the failures that are typical of them. */
import type { Crack } from "../crack.ts";
import type { Json } from "../json.ts";

/** The bodies of these events. */
export interface TopologyEvents {
  /** The first sign of a failure that is typical of agents. The recovery table decides what follows. */
  CrackSignalled: {
    readonly crack: Crack;
    readonly why: string;
    /** How often it was signalled in this run, from 1. */
    readonly times: number;
    /** The index of the first message of its section. */
    readonly section: number;
  };
  /** The topology moved: it begins, opens another section of the transcript, or finishes (`topology.ts`). */
  TopologyMoved: {
    readonly topology: string;
    readonly progress: Json;
    /** Who the model is in the next call. */
    readonly role: string;
    /** Where the run stands now, and what happened, in words. */
    readonly where: string;
    readonly note: string;
    /** A message to the model. With `section` it opens a section: the model no longer sees what came before. */
    readonly text?: string;
    readonly section?: true;
    /**
     * Earlier work is repeated. `undo`: calls whose effects are undone before it begins, or asked about where their tool
     * has no undo. `standing`: calls whose effects stand. Both oldest first.
     */
    readonly repeats?: { readonly undo?: readonly string[]; readonly standing?: readonly string[] };
    /** The topology has finished. The text of this message is the answer of the run. */
    readonly final?: string;
  };
}
