import { Option } from "commander";
import { wholeNumber } from "./options.ts";

const DEFAULT_RETRY_S = 300;
const MAX_RETRY_S = 86_400;

/** How long to try to take a broken stream up again. */
export function retryForOption(): Option {
  return new Option("--retry-for <seconds>", "how long to try again after the connection is lost")
    .argParser(wholeNumber(0, MAX_RETRY_S))
    .default(DEFAULT_RETRY_S);
}
