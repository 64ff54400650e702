/**
 * Writes what a model is saying to the delta log while a reader is attached. It never delays and never fails the model
 * call: a log that does not answer only costs the reader the text, which comes with the reply.
 *
 * Nothing is written until a call has lasted the pause between two writes. So two writes of one run are never closer than
 * that, whichever processes make them, and a quick call writes nothing.
 */
import { StreamedText } from "../../codec/redaction/streamed-text.ts";
import { redactionIn } from "../../history/secrets.ts";
import { DELTAS, type Delta, type DeltaPart, type Piece } from "../../ports/delta-log.ts";
import type { World } from "../../ports/world.ts";
import type { Incarnation, Row } from "../../protocol/row.ts";
import type { ModelStep } from "../../protocol/step.ts";
import { withTimeout } from "../../ports/with-timeout.ts";

type Streaming = Pick<World, "deltas" | "clock" | "secrets">;

/** The stream of one model call, or null if no reader is attached to the run. */
export async function openDeltaStream(world: Streaming, row: Row): Promise<DeltaStream | null> {
  const { deltas, clock } = world;
  const { run, born, epoch, version } = row;
  const asked = deltas.attachedUntil({ run, now: clock.now() }).catch(() => null);
  const until = await withTimeout(asked, DELTAS.lookMs, clock);
  return until === null ? null : new DeltaStream(world, { run, born, step: { epoch, version }, until });
}

/** A part of the reply, and how much of it is redacted and not written yet. */
interface Part {
  readonly told: Omit<DeltaPart, "text">;
  readonly text: StreamedText;
}

export class DeltaStream {
  readonly #world: Streaming;
  readonly #of: Incarnation & { readonly step: ModelStep };
  readonly #parts = new Map<number, Part>();
  #until: number;
  #characters = 0;
  #seq = 0;
  #failures = 0;
  #isOver = false;
  /** The delta whose write has not succeeded. It is sent again as it is. */
  #unwritten: Delta | null = null;
  #forget: () => void;

  constructor(world: Streaming, streamed: Incarnation & { readonly step: ModelStep; readonly until: number }) {
    this.#world = world;
    this.#of = streamed;
    this.#until = streamed.until;
    this.#forget = this.#later();
  }

  /** The model said this. */
  readonly add = ({ text, isLast, ...told }: Piece): void => {
    const room = DELTAS.stepCharactersMax - this.#characters;
    if (this.#isOver || room <= 0) return;
    const part = this.#parts.get(told.index) ?? { told, text: new StreamedText(() => redactionIn(this.#world)) };
    this.#parts.set(told.index, part);
    part.text.add(text.slice(0, room));
    // A provider may go on with a part after later ones have begun.
    if (isLast === true && text.length <= room) part.text.end();
    this.#characters += Math.min(text.length, room);
  };

  /** The call has ended. What is not written yet comes with the reply, if there is one. */
  close(): void {
    this.#isOver = true;
    this.#forget();
  }

  #later(): () => void {
    return this.#world.clock.after(this.#world.deltas.pace.writeMs, () => {
      // A log that fails in another way than the port says costs the reader the text, and nothing else.
      this.#write().catch(() => this.close());
    });
  }

  async #write(): Promise<void> {
    const { clock, deltas } = this.#world;
    if (!(await this.#isWatched())) return this.close();
    this.#unwritten ??= this.#next();
    const delta = this.#unwritten;
    if (delta !== null && !this.#isOver) {
      const isWritten = await deltas.append(this.#of, { ...delta, at: clock.now() }).then(
        () => true,
        () => false,
      );
      if (isWritten) this.#unwritten = null;
      this.#failures = isWritten ? 0 : this.#failures + 1;
      if (this.#failures >= DELTAS.failuresMax || (isWritten && delta.isCut === true)) return this.close();
    }
    if (!this.#isOver) this.#forget = this.#later();
  }

  /** Asks again when the time of the reader is over. */
  async #isWatched(): Promise<boolean> {
    const { clock, deltas } = this.#world;
    if (clock.now() < this.#until) return true;
    this.#until = (await deltas.attachedUntil({ run: this.#of.run, now: clock.now() })) ?? 0;
    return this.#until > 0;
  }

  /** What became certain since the last delta; null if that is nothing. */
  #next(): Delta | null {
    const parts = [...this.#parts.values()].flatMap(({ told, text }) => {
      const more = told.kind === "call" ? text.takeJson() : text.take();
      return more === "" ? [] : [{ ...told, text: more }];
    });
    const isCut = this.#characters >= DELTAS.stepCharactersMax;
    if (parts.length === 0 && !isCut) return null;
    this.#seq += 1;
    const { step } = this.#of;
    return { ...step, seq: this.#seq, at: 0, parts, ...(isCut && { isCut }) };
  }
}
