import { parseSelector, type SelectorTerm } from "../../protocol/fleets/selector.ts";

/** Returns the terms of a selector that was validated when it was received. */
export function termsOfSelector(selector: string): readonly SelectorTerm[] {
  const parsed = parseSelector(selector);
  if (!parsed.ok) throw new Error(`a selector was not validated: ${parsed.reason}`);
  return parsed.terms;
}
