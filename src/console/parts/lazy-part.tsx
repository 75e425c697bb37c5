import { type ComponentType, lazy, type LazyExoticComponent } from "react";
import { MissingPart } from "./missing-part.tsx";

/** A part of a page whose module is loaded when it is shown first. What fails to load says so, and the rest of the page stays. */
export function lazyPart<Props>(load: () => Promise<ComponentType<Props>>): LazyExoticComponent<ComponentType<Props>> {
  const loadOrSay = (): Promise<ComponentType<Props>> =>
    load().catch((error: unknown) => () => <MissingPart error={error} />);
  return lazy(async () => ({ default: await loadOrSay() }));
}
