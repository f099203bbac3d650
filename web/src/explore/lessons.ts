// A lesson: a claim, changes of its scenario that show it, a question, and the answer behind a fold.
import { button, element } from "../theme";
import type { Verdict } from "./format";
import { changed, quoted, written } from "./toml";

export interface Lesson {
  name: string;
  title: string;
  claim: string;
  question: string;
  answer: string;
  /** A class that answers the question, for a lesson in which the reader writes one. */
  code?: string;
  sources: string[];
  scenario: string;
  /** The scenario before any step, in words. */
  say?: string;
  expect: string[];
  step: Step[];
}

interface Step {
  say: string;
  set: Record<string, string>;
  expect: string[];
}

/** A lesson that is shown. */
export interface Shown {
  /** Its scenario as it is at first. */
  text: string;
  /** Marks the step that a run belongs to with its verdicts. */
  judged(text: string, verdicts: Verdict[]): void;
  /** Takes all marks away: they were those of another class. */
  unjudged(): void;
}

/** Returns a scenario's text with keys like path.rtt and flow.0.cc changed. */
export function withSettings(text: string, settings: Record<string, string>): string {
  let made = text;
  for (const [key, value] of Object.entries(settings)) {
    const [table, place, name] = key.split(".");
    if (table === "flow") made = changed(made, `flow.${Number(place)}`, name ?? "", quoted(value));
    else if (table === "path") made = changed(made, "path", place ?? "", quoted(value));
    else made = changed(made, "", key, quoted(value));
  }
  return made;
}

/** Shows a lesson; `use` runs a scenario, and `current` returns the one that is shown. */
export function showLesson(
  place: HTMLElement,
  lesson: Lesson | undefined,
  use: (text: string) => void,
  current: () => string,
): Shown | null {
  place.hidden = !lesson;
  if (!lesson) return null;
  const textOf = ({ set, expect }: Step, keepsClass: boolean) => {
    const text = changed(withSettings(lesson.scenario, set), "", "expect", `[${expect.map(quoted).join(", ")}]`);
    const cc = keepsClass && lesson.code ? written(current(), "flow.0", "cc") : null;
    return cc ? changed(text, "flow.0", "cc", cc) : text;
  };
  const first: Step = {
    say: lesson.say ?? "The scenario as it is.",
    set: {},
    expect: lesson.expect,
  };
  let waiting: (() => void)[] = [];
  const choices = [first, ...lesson.step].map((step) => {
    const [head, ...rest] = step.say.split(/(?<=[:.])\s/);
    const mark = element("span", { role: "status" });
    const choose = () => {
      use(textOf(step, true));
      for (const each of place.querySelectorAll("[aria-pressed]")) each.setAttribute("aria-pressed", "false");
      made.setAttribute("aria-pressed", "true");
    };
    const made = button((head ?? step.say).replace(/[:.]$/, ""), choose, { "aria-pressed": "false" });
    const item = element("li", {}, made, rest.length ? `: ${rest.join(" ")} ` : " ", mark);
    return { step, choose, mark, item };
  });
  choices[0]?.item.querySelector("button")?.setAttribute("aria-pressed", "true");
  const all = button("Run all of them", () => {
    for (const { mark } of choices) mark.textContent = "";
    waiting = choices.slice(1).map(({ choose }) => choose);
    choices[0]?.choose();
  });
  place.replaceChildren(
    element("h2", {}, lesson.title),
    element("p", { class: "claim" }, lesson.claim),
    element("ol", {}, ...choices.map(({ item }) => item)),
    ...(lesson.code ? [all] : []),
    element("p", {}, element("b", {}, "Question: "), lesson.question),
    element(
      "details",
      {},
      element("summary", {}, "Answer"),
      element("p", {}, lesson.answer),
      ...(lesson.code ? [element("pre", {}, lesson.code.trim())] : []),
    ),
    element("p", { class: "note" }, `Sources: ${lesson.sources.join("; ")}.`),
  );
  return {
    text: textOf(first, false),
    judged(text, verdicts) {
      const missed = verdicts.filter(({ met }) => !met).length;
      for (const { step, mark } of choices) {
        if (textOf(step, true) !== text || !verdicts.length) continue;
        mark.textContent = missed ? `✗ ${missed} of ${verdicts.length} missed` : "✓ met";
        mark.className = missed ? "worse" : "better";
      }
      waiting.shift()?.();
    },
    unjudged() {
      waiting = [];
      for (const { mark } of choices) mark.textContent = "";
    },
  };
}
