import js from '@eslint/js';
import reactHooks from 'eslint-plugin-react-hooks';
import tseslint from 'typescript-eslint';

// A folder of src imports those before it, never those after it.
const LAYERS = ['core', 'entries', 'pictures', 'canvas', 'gallery', 'hosts'];

export default tseslint.config(
  { ignores: ['**/node_modules', 'dist', '**/lib', 'test-results'] },
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  {
    files: ['**/*.{ts,tsx}'],
    plugins: { 'react-hooks': reactHooks },
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      'react-hooks/rules-of-hooks': 'error',
      'react-hooks/exhaustive-deps': 'error',
      // Numbers in template strings are what labels are made of.
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      // Event handlers in JSX are void functions by nature.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // Layouts such as "HWC" are plain letters.
      '@typescript-eslint/no-misused-spread': [
        'error',
        { allow: [{ from: 'lib', name: 'string' }, 'string'] },
      ],
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { attributes: false } }],
    },
  },
  ...LAYERS.slice(0, -1).map((layer, index) => ({
    files: [`src/${layer}/**/*.{ts,tsx}`],
    rules: {
      'no-restricted-imports': [
        'error',
        { patterns: [{ regex: `\\.\\./(${LAYERS.slice(index + 1).join('|')})/` }] },
      ],
    },
  })),
  {
    files: ['jupyterlab/src/**/*.ts'],
    rules: {
      // Signals are given their receiver beside the method.
      '@typescript-eslint/unbound-method': 'off',
      // Lumino's events and factories are typed by their base.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // JupyterLab's kernel items have no other home yet.
      '@typescript-eslint/no-deprecated': 'off',
    },
  },
  {
    files: ['**/*.{js,mjs}'],
    extends: [tseslint.configs.disableTypeChecked],
    languageOptions: { globals: { process: 'readonly', console: 'readonly', URL: 'readonly' } },
  },
);
