/** Test images, built without a registry, and functions that load them into an engine. */
export * from "./images/catalogue.ts";
export type { Image } from "./images/image.ts";
export * from "./images/load-image.ts";
