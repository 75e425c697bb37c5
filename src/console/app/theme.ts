import { type CSSVariablesResolver, createTheme, rem } from "@mantine/core";

/** Dense enough for lists of hundreds of devices; every text has a contrast of at least 4.5. */
export const theme = createTheme({
  primaryColor: "blue",
  primaryShade: { light: 8, dark: 8 },
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SFMono-Regular', 'DejaVu Sans Mono', Consolas, monospace",
  fontSizes: { xs: rem(12), sm: rem(14), md: rem(15), lg: rem(17), xl: rem(20) },
  defaultRadius: "sm",
  respectReducedMotion: true,
  headings: {
    fontWeight: "600",
    sizes: {
      h1: { fontSize: rem(22), lineHeight: "1.3" },
      h2: { fontSize: rem(17), lineHeight: "1.35" },
      h3: { fontSize: rem(15), lineHeight: "1.4" },
    },
  },
});

/** Variables by name, with their values in the light and the dark scheme. */
type Variables = Readonly<Record<`--${string}`, readonly [light: string, dark: string]>>;

/** Mantine's colours with too little contrast are replaced. */
export const cssVariables: CSSVariablesResolver = ({ colors: { gray, dark, red, blue, green, yellow } }) => {
  const variables: Variables = {
    "--mantine-color-dimmed": [gray[7], dark[1]],
    "--mantine-color-error": [red[9], red[4]],
    "--mantine-color-anchor": [blue[8], blue[3]],
    "--mantine-color-placeholder": [gray[6], dark[2]],
    "--console-line": [gray[3], dark[4]],
    "--console-surface": [gray[0], dark[8]],
    "--console-good": ["#1b6e33", green[4]],
    "--console-warn": ["#8a4b00", yellow[4]],
    "--console-bad": [red[9], red[4]],
    "--console-selected": [blue[0], dark[5]],
    "--console-alarm": [red[9], red[9]],
  };
  const ofScheme = (index: 0 | 1): Record<string, string> =>
    Object.fromEntries(Object.entries(variables).map(([name, values]) => [name, values[index]]));
  return { variables: {}, light: ofScheme(0), dark: ofScheme(1) };
};

/** The nonce that the page's policy allows style elements with. */
export function readNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? "";
}
