/** Annotation of a layer: digest of its table of contents. All writers of eStargz set it. */
const TOC_DIGEST = "containerd.io/snapshot/stargz/toc.digest";

/**
 * Why an eStargz layer cannot be put together from parts; `undefined` for other layers.
 *
 * Its table of contents has no headers of the tar, only their meaning: not in which format they are, nor the padding. They are in the
 * blob, but a gzip member begins with a content (or a part of one, 4 MiB) and goes on with the padding and the header of the next
 * file. So to get a header, the content before it has to be fetched as well, and nothing is saved but the first parts of
 * files of more than 4 MiB. For such a layer an index beside the image is made, as for any other gzip layer.
 */
export function estargzObstacle(annotations: Readonly<Record<string, string>>): string | undefined {
  if (annotations[TOC_DIGEST] === undefined) return undefined;
  return "an eStargz layer has the headers of its tar compressed together with the contents";
}
