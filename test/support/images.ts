/** Test images, built here without any registry, and the way into an engine. */
export * from "./images/catalogue.ts";
export type { Image } from "./images/image.ts";
export * from "./images/load-image.ts";
