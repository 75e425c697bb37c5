import type { Page } from "playwright-core";

const MAX_STOPS = 80;

/** A person who has no mouse: moves with Tab, and has to see where the focus is. */
export class Keyboard {
  readonly #page: Page;
  /** Controls that had the focus without showing it, or outside of what is in view. */
  readonly unseen = new Set<string>();

  constructor(page: Page) {
    this.#page = page;
  }

  /** Presses Tab until the control with this name has the focus. */
  async to(name: string): Promise<void> {
    const passed: string[] = [];
    for (let count = 0; count < MAX_STOPS; count++) {
      const focused = await this.focused();
      if (focused.name === name) return;
      passed.push(focused.name);
      await this.#page.keyboard.press("Tab");
      const next = await this.focused();
      if (next.isControl && !next.isSeen) this.unseen.add(`${this.#page.url()}: ${next.name}`);
    }
    throw new Error(`${name} cannot be reached with Tab, only ${passed.join(", ")}`);
  }

  /** Goes to the control and presses Enter. */
  async press(name: string): Promise<void> {
    await this.to(name);
    await this.#page.keyboard.press("Enter");
  }

  /** Goes to the field and types in place of what it holds. */
  async type(name: string, text: string): Promise<void> {
    await this.to(name);
    await this.#page.keyboard.press("Control+A");
    await this.#page.keyboard.type(text);
  }

  /** What has the focus. */
  async focused(): Promise<Focused> {
    return await this.#page.evaluate<Focused>(FOCUSED);
  }

  /** Names of what gets the focus with so many presses of Tab. */
  async stops(count: number): Promise<Focused[]> {
    const stops: Focused[] = [];
    for (let stop = 0; stop < count; stop++) {
      await this.#page.keyboard.press("Tab");
      stops.push(await this.focused());
    }
    return stops;
  }
}

interface Focused {
  readonly name: string;
  /** Whether it is anything but the page itself. */
  readonly isControl: boolean;
  /** Whether it looks other than without the focus, and is in view. */
  readonly isSeen: boolean;
  /** Name of the open dialog that it is in. */
  readonly dialog: string | null;
}

const FOCUSED = `(() => {
  const element = document.activeElement;
  const name = element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent;
  const dialog = element.closest("dialog[open]")?.getAttribute("aria-label") ?? null;
  if (element === document.body) return { name: "(nothing)", isControl: false, isSeen: false, dialog };
  const looks = () => {
    // Colours that fade in. What turns as long as something loads has no end.
    for (const animation of document.getAnimations())
      if (animation.effect.getComputedTiming().endTime !== Infinity) animation.finish();
    return [element, element.parentElement, ...element.parentElement.children]
      .map((each) => getComputedStyle(each))
      .map(({ outlineStyle, outlineWidth, outlineColor, boxShadow, borderColor, backgroundColor, clipPath, transform }) =>
        [outlineStyle, outlineWidth, outlineColor, boxShadow, borderColor, backgroundColor, clipPath, transform].join())
      .join(";");
  };
  const { left, top, right, bottom, width, height } = element.getBoundingClientRect();
  const isInView = width > 0 && height > 0 && bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
  const focused = looks();
  // A date has a stop for each of its parts, and taking the focus away would lead back to the first.
  if (element === globalThis.lastLookedAt) return { name, isControl: true, isSeen: isInView, dialog };
  globalThis.lastLookedAt = element;
  element.blur();
  const blurred = looks();
  element.focus({ focusVisible: true, preventScroll: true });
  return { name, isControl: true, isSeen: isInView && focused !== blurred, dialog };
})()`;
