import type { Logger } from "../../lib/logger.ts";
import { parseTimeMark, type TimeMarkStore } from "../../lib/steady-clock.ts";
import type { LearnedStore } from "./store.ts";

const NAME = "time";

/** Keeps in the store what is known of the time. */
export function timeMarkIn(store: LearnedStore, logger: Logger): TimeMarkStore {
  return {
    mark: parseTimeMark(store.learnedValue(NAME)),
    save(mark) {
      try {
        store.saveLearnedValue(NAME, JSON.stringify(mark));
      } catch (error) {
        logger.debug({ err: error }, "cannot store the time");
      }
    },
  };
}
