import type { Plugin } from "rolldown";

const EAGER = "const segmenter = new Intl.Segmenter();";
const LAZY = "const segmenter = { segment: (text) => new Intl.Segmenter().segment(text) };";

/**
 * Lets string-width make its segmenter when a text is not plain ASCII: made on import, it takes every command 12 ms.
 * Fails when the package has changed, so that this is looked at again.
 */
export function lazySegmenter(): Plugin {
  return {
    name: "late-segmenter",
    transform(code, id) {
      if (!id.endsWith("/string-width/index.js")) return null;
      if (!code.includes(EAGER)) throw new Error("string-width makes its segmenter in another way than it did");
      // One line for another: what is known of the lines stays true.
      return { code: code.replace(EAGER, LAZY), map: null };
    },
  };
}
