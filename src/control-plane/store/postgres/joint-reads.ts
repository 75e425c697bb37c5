import { StoreUnavailableError } from "../unavailable.ts";

/** Maximum number of reads that one statement answers. */
const MAX_TOGETHER = 256;

interface QueuedRead<Input, Output> {
  readonly input: Input;
  readonly settle: PromiseWithResolvers<Output>;
}

/**
 * Answers reads of one kind: those that arrive in one turn, or while an earlier statement is on its way, by one statement.
 * A lone read is not delayed.
 */
export class JointReads<Input, Output> {
  readonly #read: (inputs: readonly Input[]) => Promise<readonly Output[]>;
  readonly #maxStatements: number;
  #waiting: QueuedRead<Input, Output>[] = [];
  #statements = 0;
  #isScheduled = false;

  /**
   * @param read returns the outputs in the order of the inputs
   * @param maxStatements how many statements may be on their way at a time
   */
  constructor(read: (inputs: readonly Input[]) => Promise<readonly Output[]>, maxStatements: number) {
    this.#read = read;
    this.#maxStatements = maxStatements;
  }

  read(input: Input): Promise<Output> {
    const settle = Promise.withResolvers<Output>();
    this.#waiting.push({ input, settle });
    this.#schedule();
    return settle.promise;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#statements >= this.#maxStatements || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      const batch = this.#waiting.splice(0, MAX_TOGETHER);
      this.#statements++;
      void this.#answer(batch).finally(() => {
        this.#statements--;
        this.#schedule();
      });
      this.#schedule();
    });
  }

  async #answer(batch: readonly QueuedRead<Input, Output>[]): Promise<void> {
    try {
      const outputs = await this.#read(batch.map(({ input }) => input));
      if (outputs.length !== batch.length) throw new Error(`${batch.length} reads have ${outputs.length} answers`);
      for (const [index, { settle }] of batch.entries()) settle.resolve(outputs[index]!);
    } catch (error) {
      // A read that the database refuses must not fail its neighbours.
      const isOfOne = batch.length > 1 && !(error instanceof StoreUnavailableError);
      for (const waiting of batch) {
        if (isOfOne) await this.#answer([waiting]);
        else waiting.settle.reject(error);
      }
    }
  }
}
