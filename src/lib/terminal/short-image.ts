/** Shortens the digest of an image to 12 digits, for tables: `web@sha256:0123456789ab`. */
export function shortImage(image: string): string {
  return image.replace(/(sha256:[0-9a-f]{12})[0-9a-f]{52}$/, "$1");
}
