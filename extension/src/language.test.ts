/** Every text that people see goes through `t`, `tn` or `msg`: the sources are read for words that do not. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { setTranslator, t, tn, translatorOf } from './core/language';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const FILES = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter(
  (file) => /\.tsx?$/.test(file) && !/(\.test|\.d)\.ts$/.test(file) && !file.endsWith('language.ts'),
);
const TRANSLATES = new Set(['t', 'tn', 'msg']);
/** Attributes of elements and components whose text is shown or spoken. */
const SHOWN = new Set(['title', 'aria-label', 'placeholder', 'label', 'alt', 'empty', 'words', 'unit']);
/** Attributes, properties and functions whose strings are for the program. */
const OURS =
  /^(className|style|classes|d|points|transform|viewBox|keys|key|id|name|data-.*|section|icon|op|cssText|textContent|querySelector|querySelectorAll|closest|matches|matchMedia|FOCUSABLE|includes|startsWith|endsWith|join|split|has|get|set|call|request|on|emit|addEventListener|removeEventListener|remembered|remember|Error|RegExp|createElement|setData|getData|gridTemplateColumns|walk|contains|add|remove|toggle|case|kind|type|field|fill|mime|listen|inSection|Set)$/;
const WORDS = /[A-Za-z]{2,}[.,:;…]? [A-Za-z]{2,}|^[A-Z][a-z]{2,}/;
/** Names of keys, and of things that have the same name in every language. */
const NAMES =
  /^(Arrow(Left|Right|Up|Down)|Backspace|Control|Delete|End|Enter|Escape|Esc|Home|Meta|Mod|Shift|Space|Tab|Mod\+.*|Shift\+.*|Alt\+.*|Files|Python|HWC|Mozilla|Mac.*|Shape|F8|Del|HWC.*|None|False|True)$/;

function callee(node: ts.Node): string {
  if (!ts.isCallExpression(node) && !ts.isNewExpression(node)) return '';
  return ts.isPropertyAccessExpression(node.expression)
    ? node.expression.name.text
    : node.expression.getText();
}

function isShown(literal: ts.Node): boolean {
  for (let node = literal; ; node = node.parent) {
    const up = node.parent;
    if (ts.isSourceFile(up) || ts.isFunctionLike(up) || ts.isStatement(up)) return false;
    if (TRANSLATES.has(callee(up))) return false;
    if (ts.isImportDeclaration(up) || ts.isLiteralTypeNode(up) || ts.isTypeNode(up)) return false;
    if (ts.isElementAccessExpression(up) && up.expression !== node) return false;
    if (ts.isConditionalExpression(up) && up.condition === node) return false;
    if (ts.isBinaryExpression(up) && /^[!=]==?$|^in$/.test(up.operatorToken.getText())) return false;
    if (ts.isJsxAttribute(up)) return SHOWN.has(up.name.getText());
    if (ts.isCallExpression(up) || ts.isNewExpression(up)) return false;
    if (ts.isPropertyAssignment(up)) return false;
    if (ts.isJsxExpression(up) && !ts.isJsxAttribute(up.parent)) return true;
  }
}

function isOurs(literal: ts.Node): boolean {
  for (let node = literal; !ts.isSourceFile(node); node = node.parent) {
    const up = node.parent;
    if (ts.isImportDeclaration(up) || ts.isTypeNode(up) || ts.isCaseClause(up)) return true;
    const isArgument = (ts.isCallExpression(up) || ts.isNewExpression(up)) && up.expression !== node;
    if (isArgument && (TRANSLATES.has(callee(up)) || OURS.test(callee(up)))) return true;
    if (ts.isJsxAttribute(up) || ts.isPropertyAssignment(up) || ts.isVariableDeclaration(up)) {
      if (OURS.test(up.name.getText().replace(/'/g, ''))) return true;
    }
    if (ts.isPropertyAssignment(up) && up.name === node) return true;
    if (ts.isBinaryExpression(up) && /^([!=]==?|in|\+?=)$/.test(up.operatorToken.getText())) return true;
    if (ts.isElementAccessExpression(up) && up.expression !== node) return true;
    if (ts.isFunctionLike(up) || ts.isStatement(up)) return false;
  }
  return false;
}

function untranslated(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(FOLDER + file, 'utf8'), ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const tell = (node: ts.Node, what: string): void => {
    found.push(`${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1} ${what}`);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isJsxText(node) && /\p{L}{2,}/u.test(node.text) && !NAMES.test(node.text.trim()))
      tell(node, node.text.trim());
    const text =
      ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)
        ? node.text
        : ts.isTemplateExpression(node)
          ? [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join('…')
          : null;
    if (text !== null && !NAMES.test(text)) {
      if (/\p{L}{2,}/u.test(text) && !/^(fn\.|gallery\/)…$/.test(text) && isShown(node)) tell(node, text);
      else if ((WORDS.test(text) || text === 's') && !isOurs(node)) tell(node, text);
    }
    if (ts.isCallExpression(node) && ['t', 'tn'].includes(callee(node))) {
      let up: ts.Node = node;
      while (!ts.isSourceFile(up) && !ts.isFunctionLike(up)) up = up.parent;
      if (!ts.isFunctionLike(up)) tell(node, 'translated before there is a translator; use msg');
      if (node.arguments[0] && ts.isTemplateExpression(node.arguments[0]))
        tell(node, 'put together before it is translated');
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

describe('texts', () => {
  it.each(FILES)('%s: all go through the translator', (file) => {
    expect(untranslated(file)).toEqual([]);
  });

  it('are filled in with values, in the order of the other language', () => {
    setTranslator(
      translatorOf(
        { 'Connect %1 to %2': '%2 ← %1 (100%%)', '%1 node': { one: '%1 Knoten', other: '%1 Knoten!' } },
        'de',
      ),
    );
    expect(t('Connect %1 to %2', 'a', 'b')).toBe('b ← a (100%)');
    expect(tn('%1 node', '%1 nodes', 1)).toBe('1 Knoten');
    expect(tn('%1 node', '%1 nodes', 3)).toBe('3 Knoten!');
    setTranslator(translatorOf({}, 'en'));
    expect(tn('%1 node, %2', '%1 nodes, %2', 1, 'x')).toBe('1 node, x');
    expect(tn('%1 node, %2', '%1 nodes, %2', 0, '$&')).toBe('0 nodes, $&');
  });
});
