/** A layer cannot be put together from parts. It is downloaded whole. The message says why, for people. */
export class PartsUnusable extends Error {
  override readonly name = "PartsUnusable";
}
